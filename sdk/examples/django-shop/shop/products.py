"""What is sold. Prices are in cents: a form says which product, and never what it costs."""

CURRENCY = "EUR"
PRODUCTS = {"mug": ("Mug", 1250), "beans": ("Coffee beans, 500 g", 990)}


def price(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02} {CURRENCY}"


def total(cart: dict[str, int]) -> int:
    return sum(PRODUCTS[product][1] * count for product, count in cart.items())


def lines(cart: dict[str, int]) -> list[tuple[int, str, str]]:
    """How many of what, and what they cost together."""
    return [(count, PRODUCTS[name][0], price(PRODUCTS[name][1] * count)) for name, count in cart.items()]
