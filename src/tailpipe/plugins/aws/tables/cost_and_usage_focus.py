"""Lines of the AWS bill as the FOCUS specification has them."""

from __future__ import annotations

from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import texts
from tailpipe.plugins.aws.tables.exports import EXPORT, export_layouts, first_time
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["CostAndUsageFocus"]


class CostAndUsageFocus(Table):
    """One row for each charge of a FOCUS export."""

    name = "aws_cost_and_usage_focus"
    format = EXPORT
    columns = [
        Column("availability_zone", "varchar", "Availability zone of the resource."),
        Column("billed_cost", "double", "What is invoiced."),
        Column("billing_account_id", "varchar", "Account that pays."),
        Column("billing_account_name", "varchar", "Name of the account that pays."),
        Column("billing_currency", "varchar", "Currency of all costs."),
        Column("billing_period_end", "timestamp", "When the billing period ends, in UTC."),
        Column("billing_period_start", "timestamp", "When the billing period begins, in UTC."),
        Column("charge_category", "varchar", "`Usage`, `Purchase`, `Tax`, `Credit` or `Adjustment`."),
        Column("charge_class", "varchar", "`Correction` if it corrects an earlier invoice."),
        Column("charge_description", "varchar", "The charge in words."),
        Column("charge_frequency", "varchar", "`One-Time`, `Recurring` or `Usage-Based`."),
        Column("charge_period_end", "timestamp", "End of the charge's time, in UTC; itself no longer part of it."),
        Column("charge_period_start", "timestamp", "Beginning of the charge's time, in UTC."),
        Column("commitment_discount_category", "varchar", "Whether the commitment is to `Usage` or to `Spend`."),
        Column("commitment_discount_id", "varchar", "ARN of the reservation or savings plan."),
        Column("commitment_discount_name", "varchar", "Name of the reservation or savings plan."),
        Column("commitment_discount_status", "varchar", "`Used` or `Unused`."),
        Column("commitment_discount_type", "varchar", "`Reserved` or `Savings Plan`, and of which kind."),
        Column("consumed_quantity", "double", "How much was used."),
        Column("consumed_unit", "varchar", "Unit in which usage is measured."),
        Column("contracted_cost", "double", "Cost at negotiated prices."),
        Column("contracted_unit_price", "double", "Negotiated price of a unit."),
        Column("effective_cost", "double", "Cost with upfront payments spread over what they pay for."),
        Column("invoice_issuer_name", "varchar", "Company that issues the invoice."),
        Column("list_cost", "double", "Cost at public prices."),
        Column("list_unit_price", "double", "Public price of a unit."),
        Column("pricing_category", "varchar", "`Standard`, `Dynamic`, `Committed` or `Other`."),
        Column("pricing_quantity", "double", "How much is priced."),
        Column("pricing_unit", "varchar", "Unit of the price."),
        Column("provider_name", "varchar", "Who provides the service."),
        Column("publisher_name", "varchar", "Who makes the service."),
        Column("region_id", "varchar", "Region of the resource."),
        Column("region_name", "varchar", "Name of the region."),
        Column("resource_id", "varchar", "Id or ARN of the resource."),
        Column("resource_name", "varchar", "Name of the resource."),
        Column("resource_type", "varchar", "Kind of resource."),
        Column("service_category", "varchar", "Kind of service, such as `Compute` or `Storage`."),
        Column("service_name", "varchar", "Name of the service."),
        Column("sku_id", "varchar", "Code of the product."),
        Column("sku_price_id", "varchar", "Code of the product's price."),
        Column("sub_account_id", "varchar", "Account that used it."),
        Column("sub_account_name", "varchar", "Name of the account that used it."),
        Column("tags", "json", "Tags of the resource, by key."),
        Column("x_cost_categories", "json", "Cost categories of the charge, by name."),
        Column("x_discounts", "json", "Discounts of the charge, by name."),
        Column("x_operation", "varchar", "What was done, such as `RunInstances`."),
        Column("x_service_code", "varchar", "Code of the service, such as `AmazonEC2`."),
        Column("x_usage_type", "varchar", "Kind of usage, such as `USE2-BoxUsage:t3.micro`."),
        Column("additional", "json", "Fields of the export that have no column of their own.", source="*"),
    ]
    common = {
        "tp_timestamp": first_time(
            "charge_period_start", "charge_period_end", "billing_period_start", "billing_period_end"
        ),
        "tp_akas": texts("resource_id", "commitment_discount_id", only=is_arn),
    }
    layouts = export_layouts()
