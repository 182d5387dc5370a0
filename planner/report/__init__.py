"""What people read: the summary in the terminal, the page, and the account of one plan.

All of them say what `findings` found; nothing here runs a search.
"""
