module shop

go 1.25

require (
	github.com/global-integers/pulumi-global-integers/sdk/go/v2 v2.0.0
	github.com/pulumi/pulumi/sdk/v3 v3.256.0
)

replace github.com/global-integers/pulumi-global-integers/sdk/go/v2 => ./sdks/global-integers-global-integers
