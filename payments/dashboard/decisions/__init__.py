"""The pages of what waits for a merchant's decision, and of the policy that decides by itself."""
