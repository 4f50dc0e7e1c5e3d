package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"global-integers.invalid/sdk/go/globalintegers"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		integers, err := globalintegers.NewGlobalIntegers(ctx, "integers", &globalintegers.GlobalIntegersArgs{
			Home:           "us-east-1",
			Regions:        []string{"us-east-1", "eu-west-1"},
			Counters:       []string{"orders", "invoices"},
			DefaultCounter: pulumi.StringRef("orders"),
		})
		if err != nil {
			return err
		}
		ctx.Export("urls", integers.Urls)
		return nil
	})
}
