"""Who is who on the local network, and where it answers. All of its keys are public: what they sign is worth nothing.

Nothing here imports the library of the network, so that settings and pages may read it.
"""

from __future__ import annotations

from types import MappingProxyType

PORT = 8547
PASSPHRASE = "Ballast Local Network ; November 2026"
"""That of no real network, so that what is signed for this one is worth nothing there."""

# Each secret is the SHA-256 of "Ballast local stellar network: " and the name.
ISSUERS = MappingProxyType(
    {
        "USDC": "GDQ6427SI6DG4LBJ23QMDDST6MMQLZPUNUDZSDTKPZGSF7AUJKYZSDQN",
        "USDT": "GAFGJN65AF22PSLEVCFCSGIZXUUMFZA47JTWCUND57SS6YHBQCLD4DRU",
        "DAI": "GBKWE3MYAMGLCZJ2B4S2R5DW2TBTGOVC3LJFUKZMWYJ2WZZSIJ4D6O6P",
    }
)
ISSUER_KEYS = MappingProxyType(
    {
        "USDC": "SBVWMV4SY62CQ5DHVUTHSTWBIZFX5MBJODU73DCLEFRHTLMDSGHBSQLG",
        "USDT": "SDG3IJQPPWTNKTM4VDKPHWEYDPZZ5N7BATD5KGHG75LDESAASBIV52L3",
        "DAI": "SBI2G5RSZRL4TIFRSE5X7KTOED7F2ADPC5LHUQFGVNHORY6H4KNANZOO",
    }
)
HOT_WALLET, HOT_WALLET_KEY = (
    "GDPQ6W3LH2MOJXQAYO33PYZ73H4OPWCXT5H6HRIVMLACBF7RGPY5FBNX",
    "SCEZPP7DPSNO63IFGRPL7ZJKWR5DNHJKJVL5U357OFXH3AZ6TDSIGEZE",
)
PAYER, PAYER_KEY = (
    "GASUMD76PBOPLKDBWSXB7JSIOQAH7EZDWEUUFZVAGJSDKXHRZVZ4HDXE",
    "SBFSJS45MCAPRGO63DGRNM3T7OFAGTDKKJCIZMNYM4G2BRYI62X4BR33",
)
