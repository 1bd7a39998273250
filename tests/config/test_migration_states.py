"""What migrations know of models on their way."""

from __future__ import annotations

from django.db import models
from django.db.migrations.state import ModelState, ProjectState


def test_an_index_and_a_constraint_are_noted_in_the_models_there_are() -> None:
    state = ProjectState()
    state.add_model(ModelState("shops", "Shop", [("id", models.IntegerField(primary_key=True))]))
    of_shop = models.ForeignKey("shops.Shop", models.CASCADE)
    state.add_model(ModelState("shops", "Order", [("id", models.IntegerField(primary_key=True)), ("shop", of_shop)]))
    before = state.clone()
    shop, order = (state.apps.get_model("shops", name) for name in ("shop", "order"))

    state.add_index("shops", "shop", models.Index(fields=["id"], name="by_id"))
    state.add_constraint("shops", "shop", models.CheckConstraint(condition=models.Q(id__gt=0), name="positive"))

    assert [state.apps.get_model("shops", name) for name in ("shop", "order")] == [shop, order], "none is made anew"
    anew = ProjectState(state.models).apps.get_model("shops", "shop")
    for each in (shop, anew):
        assert [each.name for each in (*each._meta.indexes, *each._meta.constraints)] == ["by_id", "positive"]
    assert not before.models["shops", "shop"].options["constraints"]
