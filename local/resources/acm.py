"""Certificates of ACM. The local server issues them at once and looks for no record in DNS. Tags aren't set."""

from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from ..paths import LocalError
from .kind import Aws, Result


class Certificate:
    """A certificate for a domain and names below it."""

    identity: tuple[str, ...] = ("region", "domainName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Request the certificate. It can't be changed, so a changed one is a new one."""
        client = aws.client("acm", inputs["region"])
        arn = client.request_certificate(
            DomainName=inputs["domainName"],
            SubjectAlternativeNames=inputs["subjectAlternativeNames"],
            ValidationMethod=inputs["validationMethod"],
        )["CertificateArn"]
        return Result(arn, self._outputs(client, arn), replaces=before is not None)

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        return self._outputs(aws.client("acm", made.inputs["region"]), made.id)

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the certificate."""
        aws.client("acm", made.inputs["region"]).delete_certificate(CertificateArn=made.id)

    def _outputs(self, client: Any, arn: str) -> dict[str, Any]:
        found = client.describe_certificate(CertificateArn=arn)["Certificate"]
        return {
            "arn": arn,
            "status": found["Status"],
            "domainValidationOptions": [
                {
                    "domainName": option["DomainName"],
                    "resourceRecordName": option["ResourceRecord"]["Name"],
                    "resourceRecordType": option["ResourceRecord"]["Type"],
                    "resourceRecordValue": option["ResourceRecord"]["Value"],
                }
                for option in found["DomainValidationOptions"]
            ],
        }


class CertificateValidation:
    """The wait for a certificate. It makes nothing."""

    identity: tuple[str, ...] = ("region", "certificateArn")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Check that the certificate is issued.

        Raises:
            LocalError: it isn't issued. On this machine, waiting wouldn't change that.
        """
        arn = inputs["certificateArn"]
        client = aws.client("acm", inputs["region"])
        status = client.describe_certificate(CertificateArn=arn)["Certificate"]["Status"]
        if status != "ISSUED":
            raise LocalError(f"the certificate {arn} is {status}, not ISSUED")
        return Result(arn, {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if the certificate no longer exists."""
        aws.client("acm", made.inputs["region"]).describe_certificate(CertificateArn=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Do nothing."""
        return
