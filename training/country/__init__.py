"""The training of CountryNet."""
