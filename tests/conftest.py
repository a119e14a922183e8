"""Settings shared by all tests."""

from hypothesis import settings

# The first call of a torch kernel can take seconds, so a deadline per example would say nothing. Under CI
# hypothesis loads its own profile, which has no deadline either and draws the same examples every time.
settings.register_profile("local", deadline=None)
if settings.get_current_profile_name() == "default":
    settings.load_profile("local")
