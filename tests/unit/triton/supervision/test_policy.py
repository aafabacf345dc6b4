"""What the policy decides about faults, with a clock that the tests set."""

import pytest

from plate_nets.triton.supervision.policy import GiveUp, Limits, Policy, Restart

LIMITS = Limits(heals=2, restarts=4, pause=1, longest_pause=3, lasting=10)


@pytest.fixture
def policy() -> Policy:
    return Policy(LIMITS)


def test_a_model_that_reloads_do_not_heal_restarts_the_server(policy: Policy) -> None:
    assert policy.models_failed(["stn"], 0) is None
    assert policy.models_failed(["yolo", "country"], 1) is None
    assert policy.models_failed(["stn"], 2) is None
    assert policy.models_failed(["stn"], 3) == Restart(0)
    assert policy.models_failed(["stn"], 4) is None, "the new server's model was not tried yet"


def test_old_heals_do_not_count(policy: Policy) -> None:
    for now in range(0, 200, 6):
        assert policy.models_failed(["stn"], now) is None


def test_restarts_in_a_row_pause_longer_and_end(policy: Policy) -> None:
    assert [policy.server_failed(now) for now in range(5)] == [*map(Restart, range(4)), GiveUp(4)]


def test_a_server_that_lasted_may_be_restarted_again(policy: Policy) -> None:
    for start in range(0, 1000, 20):
        assert policy.server_failed(start) == Restart(0)
        policy.recognised(start + 5)
        policy.recognised(start + 15)


@pytest.mark.parametrize("seen", [[], [1], [1, 10]])
def test_a_short_lived_server_counts_as_a_restart_in_a_row(policy: Policy, seen: list[float]) -> None:
    assert policy.server_failed(0) == Restart(0)
    for moment in seen:
        policy.recognised(moment)
    assert policy.server_failed(10.5) == Restart(1)


def test_a_server_that_works_between_two_probes_counts_as_lasting(policy: Policy) -> None:
    policy.server_failed(0)
    policy.recognised(1)
    assert policy.server_failed(11) == Restart(0)
