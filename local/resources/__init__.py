"""What the local deployment can make: one entry per Pulumi resource type that the program uses.

A type that is missing here is added by a class with `apply` and `delete` (`kind.py`) in the module of
its AWS service, and a line in `KINDS`.
"""

from .apigateway import Deployment, MethodSettings, RestApi, Stage
from .dynamodb import Table
from .iam import Role, RolePolicy
from .kind import Aws, Kind, Result
from .lambda_ import Function, FunctionUrl, Invocation, Permission
from .logs import LogGroup

KINDS: dict[str, Kind] = {
    "aws:apigateway/deployment:Deployment": Deployment(),
    "aws:apigateway/methodSettings:MethodSettings": MethodSettings(),
    "aws:apigateway/restApi:RestApi": RestApi(),
    "aws:apigateway/stage:Stage": Stage(),
    "aws:cloudwatch/logGroup:LogGroup": LogGroup(),
    "aws:dynamodb/table:Table": Table(),
    "aws:iam/role:Role": Role(),
    "aws:iam/rolePolicy:RolePolicy": RolePolicy(),
    "aws:lambda/function:Function": Function(),
    "aws:lambda/functionUrl:FunctionUrl": FunctionUrl(),
    "aws:lambda/invocation:Invocation": Invocation(),
    "aws:lambda/permission:Permission": Permission(),
}

__all__ = ["KINDS", "Aws", "Kind", "Result"]
