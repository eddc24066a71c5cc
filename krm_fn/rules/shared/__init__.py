"""What several rules need: views of a bundle, and wording."""
