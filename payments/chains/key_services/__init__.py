"""Key services: AWS KMS and Vault transit, which have a hot wallet's key and sign with it, and never hand it out."""
