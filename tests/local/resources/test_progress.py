"""What the coordinator does is reported while it does it."""

from local.resources.lambda_ import phase

REGISTER = {
    "epoch": {"N": "2"},
    "base": {"N": "10001"},
    "regions": {"L": [{"S": "us-east-1"}, {"S": "eu-west-1"}]},
}


def test_the_phases_of_a_register() -> None:
    assert phase(REGISTER) == "epoch 2 from 10001"
    assert phase({**REGISTER, "ids": {"L": [{"S": "a"}, {"S": "b"}]}}) == "epoch 2 from 10001"
    waiting = {**REGISTER, "ids": {"L": [{"S": "a"}, {"NULL": True}]}}
    assert phase(waiting) == "epoch 2 from 10001: waiting for eu-west-1"
