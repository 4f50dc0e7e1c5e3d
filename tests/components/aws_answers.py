"""The types of resources, and what AWS adds to one that it made: ARNs, the URL, a function's answer."""

from components.testing import ACCOUNT, LABEL, answers, arn, function_url

__all__ = ["ACCOUNT", "LABEL", "answers", "arn", "url"]

TABLE = "aws:dynamodb/table:Table"
TABLE_POLICY = "aws:dynamodb/resourcePolicy:ResourcePolicy"
ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/rolePolicy:RolePolicy"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
FUNCTION = "aws:lambda/function:Function"
FUNCTION_URL = "aws:lambda/functionUrl:FunctionUrl"
PERMISSION = "aws:lambda/permission:Permission"
REST_API = "aws:apigateway/restApi:RestApi"
API_DEPLOYMENT = "aws:apigateway/deployment:Deployment"
STAGE = "aws:apigateway/stage:Stage"
METHOD_SETTINGS = "aws:apigateway/methodSettings:MethodSettings"
ALIAS = "aws:lambda/alias:Alias"
INVOCATION = "aws:lambda/invocation:Invocation"
RETRIES = "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig"
RULE = "aws:cloudwatch/eventRule:EventRule"
TARGET = "aws:cloudwatch/eventTarget:EventTarget"
ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
COMPOSITE = "aws:cloudwatch/compositeAlarm:CompositeAlarm"
DASHBOARD = "aws:cloudwatch/dashboard:Dashboard"
TOPIC = "aws:sns/topic:Topic"
SUBSCRIPTION = "aws:sns/topicSubscription:TopicSubscription"
CERTIFICATE = "aws:acm/certificate:Certificate"
ISSUED = "aws:acm/certificateValidation:CertificateValidation"
HTTP_API = "aws:apigatewayv2/api:Api"
INTEGRATION = "aws:apigatewayv2/integration:Integration"
ROUTE = "aws:apigatewayv2/route:Route"
HTTP_STAGE = "aws:apigatewayv2/stage:Stage"
DOMAIN_NAME = "aws:apigatewayv2/domainName:DomainName"
MAPPING = "aws:apigatewayv2/apiMapping:ApiMapping"
RECORD = "aws:route53/record:Record"
HEALTH_CHECK = "aws:route53/healthCheck:HealthCheck"
BUDGET = "aws:budgets/budget:Budget"
STASH = "pulumi:index:Stash"
GET_ZONE = "aws:route53/getZone:getZone"


def url(region: str) -> str:
    """Return the URL of a region's minting function, in the stack of these tests."""
    return function_url(region, "global-integers-test-mint")
