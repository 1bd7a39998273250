"""An application asks a member for a key pair and a webhook, and gets them without anybody copying a secret."""
