"""What the local deployment can make: one entry for each Pulumi resource type that the program uses.

To add a type, write a class with `apply`, `read` and `delete` (`resources/kind.py`) in the module of its AWS
service, and a line here.
"""

from .apigateway.resources import Deployment, MethodSettings, RestApi, Stage
from .resources.dynamodb import Table
from .resources.iam import Role, RolePolicy
from .resources.kind import Kind
from .resources.lambda_ import Function, FunctionUrl, Invocation, Permission
from .resources.logs import LogGroup

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
