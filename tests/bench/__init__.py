"""The benchmark: `python -m tests.bench` measures the product beside bare twins, and says what is below its goal."""

import tests.forgetting  # noqa: F401 - other settings have the networks built again
