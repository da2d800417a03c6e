"""What reads hostile or damaged input, fed with what a coverage-guided fuzzer thinks up."""
