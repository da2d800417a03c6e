"""The paper's tables and figures: what to run, what came of it, and a page that says so."""
