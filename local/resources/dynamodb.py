"""DynamoDB tables."""

from typing import Any

from ..state import Made
from .kind import Aws, Result


class Table:
    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        client = aws.client("dynamodb", inputs["region"])
        name = inputs["name"]
        if before is None:
            client.create_table(
                TableName=name,
                BillingMode=inputs["billingMode"],
                KeySchema=[{"AttributeName": inputs["hashKey"], "KeyType": "HASH"}],
                AttributeDefinitions=[
                    {"AttributeName": attribute["name"], "AttributeType": attribute["type"]}
                    for attribute in inputs["attributes"]
                ],
            )
            client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
        client.update_table(TableName=name, DeletionProtectionEnabled=inputs["deletionProtectionEnabled"])
        client.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": inputs["pointInTimeRecovery"]["enabled"]},
        )
        table = client.describe_table(TableName=name)["Table"]
        return Result(name, {"arn": table.get("TableArn", "")})

    def exists(self, aws: Aws, made: Made) -> bool:
        client = aws.client("dynamodb", made.inputs["region"])
        try:
            client.describe_table(TableName=made.id)
        except client.exceptions.ResourceNotFoundException:
            return False
        return True

    def delete(self, aws: Aws, made: Made) -> None:
        client = aws.client("dynamodb", made.inputs["region"])
        try:
            client.delete_table(TableName=made.id)
        except client.exceptions.ResourceNotFoundException:
            return
        client.get_waiter("table_not_exists").wait(TableName=made.id, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
