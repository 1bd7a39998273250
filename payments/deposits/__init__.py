"""What arrives for payments: seen on a network, assessed, credited, and undone when the network takes it back."""
