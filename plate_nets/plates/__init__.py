"""Which texts are licence plates: alphabets and formats."""
