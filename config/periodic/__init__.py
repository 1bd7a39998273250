"""How periodic work is scheduled, found due and kept going: beat, the broker, and signs of life."""
