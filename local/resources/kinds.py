"""What the local deployment can make and answer: the Pulumi resource types and provider functions of the program.

To add a type, write a class with `apply`, `read` and `delete` (`resources/kind.py`) in the module of its AWS
service, and a line here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..apigateway import http_api as apigatewayv2
from ..apigateway.resources import Deployment, MethodSettings, RestApi, Stage
from . import route53
from .acm import Certificate, CertificateValidation
from .budgets import Budget
from .cloudwatch import CompositeAlarm, Dashboard, LogGroup, MetricAlarm
from .dynamodb import Table, table_item
from .events import Rule, Target
from .iam import Role, RolePolicy
from .kind import Aws, Kind
from .lambda_ import EventInvokeConfig, Function, FunctionUrl, Invocation, Permission
from .sns import Subscription, Topic

KINDS: dict[str, Kind] = {
    "aws:acm/certificate:Certificate": Certificate(),
    "aws:acm/certificateValidation:CertificateValidation": CertificateValidation(),
    "aws:apigateway/deployment:Deployment": Deployment(),
    "aws:apigateway/methodSettings:MethodSettings": MethodSettings(),
    "aws:apigateway/restApi:RestApi": RestApi(),
    "aws:apigateway/stage:Stage": Stage(),
    "aws:apigatewayv2/api:Api": apigatewayv2.HttpApi(),
    "aws:apigatewayv2/apiMapping:ApiMapping": apigatewayv2.ApiMapping(),
    "aws:apigatewayv2/domainName:DomainName": apigatewayv2.DomainName(),
    "aws:apigatewayv2/integration:Integration": apigatewayv2.Integration(),
    "aws:apigatewayv2/route:Route": apigatewayv2.Route(),
    "aws:apigatewayv2/stage:Stage": apigatewayv2.HttpStage(),
    "aws:budgets/budget:Budget": Budget(),
    "aws:cloudwatch/compositeAlarm:CompositeAlarm": CompositeAlarm(),
    "aws:cloudwatch/dashboard:Dashboard": Dashboard(),
    "aws:cloudwatch/eventRule:EventRule": Rule(),
    "aws:cloudwatch/eventTarget:EventTarget": Target(),
    "aws:cloudwatch/logGroup:LogGroup": LogGroup(),
    "aws:cloudwatch/metricAlarm:MetricAlarm": MetricAlarm(),
    "aws:dynamodb/table:Table": Table(),
    "aws:iam/role:Role": Role(),
    "aws:iam/rolePolicy:RolePolicy": RolePolicy(),
    "aws:lambda/function:Function": Function(),
    "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": EventInvokeConfig(),
    "aws:lambda/functionUrl:FunctionUrl": FunctionUrl(),
    "aws:lambda/invocation:Invocation": Invocation(),
    "aws:lambda/permission:Permission": Permission(),
    "aws:route53/healthCheck:HealthCheck": route53.HealthCheck(),
    "aws:route53/record:Record": route53.Record(),
    "aws:sns/topic:Topic": Topic(),
    "aws:sns/topicSubscription:TopicSubscription": Subscription(),
}

FUNCTIONS: dict[str, Callable[[Aws, Mapping[str, Any]], Mapping[str, Any]]] = {
    "aws:dynamodb/getTableItem:getTableItem": table_item,
    "aws:route53/getZone:getZone": route53.zone,
}
