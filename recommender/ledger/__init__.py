"""Between advice and what people make of it: what was proposed, decided, carried out and saved, as events."""
