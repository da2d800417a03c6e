"""What attackers achieve and what weights give away: measured, and told in docs/security.md."""
