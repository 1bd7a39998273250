"""What nodes of an EVM network say, asked over JSON-RPC and compared."""
