"""Who may call the Function URLs."""

import pytest

from tests.components.aws_answers import FUNCTION, FUNCTION_URL, PERMISSION
from tests.components.recording import Deployment
from tests.components.running import PREFIX, THREE


@pytest.mark.parametrize("region", THREE)
def test_everyone_may_call_a_public_url_and_call_the_function_through_it(public: Deployment, region: str) -> None:
    function = public.one(FUNCTION, name=f"{PREFIX}-mint", region=region).inputs["name"]
    granted = [
        {key: value for key, value in permission.inputs.items() if key not in ("region", "statementId")}
        for permission in public.of(PERMISSION)
        if permission.inputs["region"] == region
    ]

    assert sorted(granted, key=lambda permission: permission["action"]) == [
        {"action": "lambda:InvokeFunction", "function": function, "principal": "*", "invokedViaFunctionUrl": True},
        {"action": "lambda:InvokeFunctionUrl", "function": function, "principal": "*", "functionUrlAuthType": "NONE"},
    ]


def test_the_two_statements_are_not_those_that_the_provider_adds_by_itself(public: Deployment) -> None:
    statements = {permission.inputs["statementId"] for permission in public.of(PERMISSION)}

    assert len(statements) == 2
    assert not statements & {"FunctionURLAllowPublicAccess", "FunctionURLAllowInvokeAction"}


def test_a_public_url_asks_for_no_signature(public: Deployment) -> None:
    assert [u.inputs["authorizationType"] for u in public.of(FUNCTION_URL)] == ["NONE"] * 3


def test_by_default_requests_must_be_signed_and_nobody_is_let_in(signed: Deployment) -> None:
    assert [u.inputs["authorizationType"] for u in signed.of(FUNCTION_URL)] == ["AWS_IAM"] * 3
    assert signed.of(PERMISSION) == []


def test_the_coordinator_can_never_be_called_from_outside(public: Deployment) -> None:
    coordinate = f"{PREFIX}-coordinate"

    assert coordinate not in {u.inputs["functionName"] for u in public.of(FUNCTION_URL)}
    assert coordinate not in {permission.inputs["function"] for permission in public.of(PERMISSION)}
