"""What AWS adds to a resource that it made: ARNs, the URL, a function's answer."""

import json
from typing import Any

ACCOUNT = "123456789012"

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

LABEL = "2026-11-21T00:00:00.000"
"""Of a table's stream: when it was made."""


def answers(resource_type: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The computed outputs of a resource, by its inputs."""
    region = inputs.get("region", "us-east-1")  # where one is left out, the provider takes the stack's `aws:region`
    match resource_type:
        case "aws:dynamodb/table:Table":
            return {"arn": arn("dynamodb", region, f"table/{inputs['name']}"), "streamLabel": LABEL}
        case "pulumi:index:Stash":  # nothing was kept before
            return {"output": inputs["input"]}
        case "aws:iam/role:Role":
            return {"arn": f"arn:aws:iam::{ACCOUNT}:role{inputs.get('path', '/')}{inputs['name']}"}
        case "aws:cloudwatch/logGroup:LogGroup":
            return {"arn": arn("logs", region, f"log-group:{inputs['name']}")}
        case "aws:lambda/function:Function":
            return {"arn": arn("lambda", region, f"function:{inputs['name']}"), "version": "1"}
        case "aws:lambda/alias:Alias":
            return {"arn": arn("lambda", region, f"function:{inputs['functionName']}:{inputs['name']}")}
        case "aws:lambda/functionUrl:FunctionUrl":
            return {"functionUrl": url(region)}
        case "aws:cloudwatch/eventRule:EventRule":
            return {"arn": arn("events", region, f"rule/{inputs['name']}")}
        case "aws:sns/topic:Topic":
            return {"arn": arn("sns", region, inputs["name"])}
        case "aws:apigateway/restApi:RestApi" | "aws:apigatewayv2/api:Api":
            return {"executionArn": arn("execute-api", region, f"abc{region}")}
        case "aws:apigatewayv2/domainName:DomainName":
            target = f"d-{inputs['domainName'].partition('.')[0]}.execute-api.{region}.amazonaws.com"
            added = {"targetDomainName": target, "hostedZoneId": f"Z-{region}"}
            return {"domainNameConfiguration": {**inputs["domainNameConfiguration"], **added}}
        case "aws:acm/certificate:Certificate":
            return {"arn": arn("acm", region, "certificate/1f2e"), **_validation(inputs)}
        case "aws:route53/record:Record":
            return {"fqdn": inputs["name"]}
        case "aws:apigateway/stage:Stage":
            return {"invokeUrl": f"https://abc{region}.execute-api.{region}.amazonaws.com/{inputs['stageName']}"}
        case "aws:lambda/invocation:Invocation":
            return {"result": json.dumps({"counters": {}})}
        case _:
            return {}


def _validation(inputs: dict[str, Any]) -> dict[str, Any]:
    """What proves that a domain is one's own: the same for all names of a certificate, in every region."""
    record = {
        "resourceRecordName": f"_1f2e.{inputs['domainName']}.",
        "resourceRecordType": "CNAME",
        "resourceRecordValue": "_3d4c.acm-validations.aws.",
    }
    hosts = [inputs["domainName"], *inputs["subjectAlternativeNames"]]
    return {
        "status": "PENDING_VALIDATION",
        "domainValidationOptions": [{"domainName": host, **record} for host in hosts],
    }


def arn(service: str, region: str, resource: str) -> str:
    return f"arn:{_partition(region)}:{service}:{region}:{ACCOUNT}:{resource}"


def url(region: str) -> str:
    """A function's URL. Real ones have a random host name."""
    return f"https://abc{region}.lambda-url.{region}.on.aws/"


def _partition(region: str) -> str:
    """The partition of a region ("ARNs" in the AWS General Reference)."""
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
