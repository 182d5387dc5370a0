"""Training: what one optimizer step costs in time and memory, and what a whole run makes of it."""
