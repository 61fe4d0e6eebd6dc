"""Lines of the AWS bill."""

from __future__ import annotations

from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import texts
from tailpipe.plugins.aws.tables.exports import EXPORT, export_layouts, first_time, labelled
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["CostAndUsageReport"]

_BILL = [
    Column("bill_bill_type", "varchar", "`Anniversary`, `Purchase` or `Refund`."),
    Column("bill_billing_entity", "varchar", "Who is billing: AWS, or AWS Marketplace."),
    Column("bill_billing_period_end_date", "timestamp", "When the billing period ends, in UTC."),
    Column("bill_billing_period_start_date", "timestamp", "When the billing period begins, in UTC."),
    Column("bill_invoice_id", "varchar", "Invoice that the line stands on; null until the bill is final."),
    Column("bill_invoicing_entity", "varchar", "Company that issues the invoice."),
    Column("bill_payer_account_id", "varchar", "Account that pays."),
    Column("bill_payer_account_name", "varchar", "Name of the account that pays."),
]
_LINE_ITEM = [
    Column("identity_line_item_id", "varchar", "Id of the line, unique within one version of the report."),
    Column("identity_time_interval", "varchar", "Beginning and end of the time that the line is about."),
    Column("line_item_availability_zone", "varchar", "Availability zone of the resource."),
    Column("line_item_blended_cost", "double", "Cost at the average rate of the organization."),
    Column("line_item_blended_rate", "varchar", "Average rate of the organization."),
    Column("line_item_currency_code", "varchar", "Currency of the line."),
    Column("line_item_legal_entity", "varchar", "Seller of record."),
    Column("line_item_line_item_description", "varchar", "The line in words."),
    Column(
        "line_item_line_item_type", "varchar", "Kind of the line, such as `Usage`, `Tax` or `SavingsPlanCoveredUsage`."
    ),
    Column("line_item_net_unblended_cost", "double", "Cost after discounts."),
    Column("line_item_net_unblended_rate", "varchar", "Rate after discounts."),
    Column("line_item_normalization_factor", "double", "Weight of the instance's size among its family."),
    Column("line_item_normalized_usage_amount", "double", "Usage times that weight."),
    Column("line_item_operation", "varchar", "What was done, such as `RunInstances`."),
    Column("line_item_product_code", "varchar", "Code of the service, such as `AmazonEC2`."),
    Column("line_item_resource_id", "varchar", "Id or ARN of the resource, if the report has resources."),
    Column("line_item_tax_type", "varchar", "Kind of tax."),
    Column("line_item_unblended_cost", "double", "Cost at the account's own rate."),
    Column("line_item_unblended_rate", "varchar", "The account's own rate."),
    Column("line_item_usage_account_id", "varchar", "Account that used it."),
    Column("line_item_usage_account_name", "varchar", "Name of the account that used it."),
    Column("line_item_usage_amount", "double", "How much was used, in the unit of the price."),
    Column("line_item_usage_end_date", "timestamp", "End of the usage, in UTC; itself no longer part of it."),
    Column("line_item_usage_start_date", "timestamp", "Beginning of the usage, in UTC."),
    Column("line_item_usage_type", "varchar", "Kind of usage, such as `USE2-BoxUsage:t3.micro`."),
]
_PRICING = [
    Column("pricing_currency", "varchar", "Currency of the price."),
    Column("pricing_lease_contract_length", "varchar", "For how long a reservation binds."),
    Column("pricing_offering_class", "varchar", "`standard` or `convertible`."),
    Column("pricing_public_on_demand_cost", "double", "What it would have cost at the public price."),
    Column("pricing_public_on_demand_rate", "varchar", "Public price."),
    Column("pricing_purchase_option", "varchar", "How a reservation is paid, such as `All Upfront`."),
    Column("pricing_rate_code", "varchar", "Code of the product, its offer and its tier."),
    Column("pricing_rate_id", "varchar", "Id of the rate."),
    Column("pricing_term", "varchar", "`OnDemand`, `Reserved` or `Spot`."),
    Column("pricing_unit", "varchar", "Unit of the price, such as `Hrs`."),
]
_PRODUCT = [
    Column("product_comment", "varchar", "Remark on the product."),
    Column("product_fee_code", "varchar", "Code of a fee."),
    Column("product_fee_description", "varchar", "What the fee is for."),
    Column("product_from_location", "varchar", "Where data came from."),
    Column("product_from_location_type", "varchar", "Kind of place that data came from."),
    Column("product_from_region_code", "varchar", "Region that data came from."),
    Column("product_instance_family", "varchar", "Family of the instance."),
    Column(
        "product_instance_sku",
        "varchar",
        "Code of the instance as a product.",
        transform="coalesce(product_instance_sku, product_instancesku)",
    ),
    Column("product_instance_type", "varchar", "Type of the instance, such as `t3.micro`."),
    Column("product_location", "varchar", "Place of the resource."),
    Column("product_location_type", "varchar", "Kind of place of the resource."),
    Column("product_operation", "varchar", "What the product does."),
    Column("product_pricing_unit", "varchar", "Smallest unit that is billed."),
    Column("product_product_family", "varchar", "Kind of product, such as `Compute Instance`."),
    Column("product_region_code", "varchar", "Region of the resource."),
    Column(
        "product_service_code",
        "varchar",
        "Code of the service.",
        transform="coalesce(product_service_code, product_servicecode)",
    ),
    Column("product_sku", "varchar", "Code of the product."),
    Column("product_to_location", "varchar", "Where data went to."),
    Column("product_to_location_type", "varchar", "Kind of place that data went to."),
    Column("product_to_region_code", "varchar", "Region that data went to."),
    Column(
        "product_usage_type",
        "varchar",
        "Kind of usage.",
        transform="coalesce(product_usage_type, product_usagetype)",
    ),
]
_RESERVATION = [
    Column("reservation_amortized_upfront_cost_for_usage", "double", "Share of the upfront payment in this usage."),
    Column("reservation_amortized_upfront_fee_for_billing_period", "double", "Share of it in this billing period."),
    Column("reservation_availability_zone", "varchar", "Availability zone of the reservation."),
    Column("reservation_effective_cost", "double", "Upfront and recurring cost of this usage together."),
    Column("reservation_end_time", "varchar", "When the reservation ends."),
    Column("reservation_modification_status", "varchar", "Whether the reservation was changed."),
    Column(
        "reservation_net_amortized_upfront_cost_for_usage", "double", "Upfront share in this usage after discounts."
    ),
    Column(
        "reservation_net_amortized_upfront_fee_for_billing_period",
        "double",
        "Upfront share in this billing period after discounts.",
    ),
    Column("reservation_net_effective_cost", "double", "Effective cost after discounts."),
    Column("reservation_net_recurring_fee_for_usage", "double", "Recurring fee of this usage after discounts."),
    Column(
        "reservation_net_unused_amortized_upfront_fee_for_billing_period",
        "double",
        "Unused upfront share in this billing period after discounts.",
    ),
    Column("reservation_net_unused_recurring_fee", "double", "Recurring fee of unused hours after discounts."),
    Column("reservation_net_upfront_value", "double", "Upfront price after discounts."),
    Column("reservation_normalized_units_per_reservation", "varchar", "Normalized units of each reservation."),
    Column("reservation_number_of_reservations", "varchar", "How many reservations the subscription has."),
    Column("reservation_recurring_fee_for_usage", "double", "Recurring fee of this usage."),
    Column("reservation_reservation_arn", "varchar", "ARN of the reservation that covers the usage."),
    Column("reservation_start_time", "timestamp", "When the reservation began, in UTC."),
    Column("reservation_subscription_id", "varchar", "Id of the subscription."),
    Column("reservation_total_reserved_normalized_units", "varchar", "Normalized units of all reservations."),
    Column("reservation_total_reserved_units", "varchar", "Units of all reservations."),
    Column("reservation_units_per_reservation", "varchar", "Units of each reservation."),
    Column("reservation_unused_amortized_upfront_fee_for_billing_period", "double", "Unused upfront share."),
    Column("reservation_unused_normalized_unit_quantity", "double", "Normalized units that nobody used."),
    Column("reservation_unused_quantity", "double", "Hours that nobody used."),
    Column("reservation_unused_recurring_fee", "double", "Recurring fee of hours that nobody used."),
    Column("reservation_upfront_value", "double", "Upfront price of the reservation."),
]
_SAVINGS_PLAN = [
    Column(
        "savings_plan_amortized_upfront_commitment_for_billing_period",
        "double",
        "Share of the upfront payment in this billing period.",
    ),
    Column("savings_plan_end_time", "timestamp", "When the plan ends, in UTC."),
    Column("savings_plan_instance_type_family", "varchar", "Family of instances that the plan is for."),
    Column(
        "savings_plan_net_amortized_upfront_commitment_for_billing_period",
        "double",
        "Share of the upfront payment in this billing period after discounts.",
    ),
    Column(
        "savings_plan_net_recurring_commitment_for_billing_period",
        "double",
        "Recurring payment of this billing period after discounts.",
    ),
    Column("savings_plan_net_savings_plan_effective_cost", "double", "Effective cost of this usage after discounts."),
    Column("savings_plan_offering_type", "varchar", "Kind of plan, such as `ComputeSavingsPlans`."),
    Column("savings_plan_payment_option", "varchar", "How the plan is paid."),
    Column("savings_plan_purchase_term", "varchar", "For how long the plan binds."),
    Column(
        "savings_plan_recurring_commitment_for_billing_period", "double", "Recurring payment of this billing period."
    ),
    Column("savings_plan_region", "varchar", "Region that the plan is for."),
    Column("savings_plan_savings_plan_arn", "varchar", "ARN of the plan that covers the usage."),
    Column("savings_plan_savings_plan_effective_cost", "double", "Share of the plan in this usage."),
    Column("savings_plan_savings_plan_rate", "varchar", "Rate of the plan for this usage."),
    Column("savings_plan_start_time", "timestamp", "When the plan began, in UTC."),
    Column("savings_plan_total_commitment_to_date", "varchar", "Commitment up to this hour of the billing period."),
    Column("savings_plan_used_commitment", "varchar", "How much of the commitment was used."),
]
_SPLIT = [
    Column("split_line_item_actual_usage", "double", "What the container really used."),
    Column("split_line_item_net_split_cost", "double", "Cost of the container after discounts."),
    Column("split_line_item_net_unused_cost", "double", "Share in the unused rest after discounts."),
    Column("split_line_item_parent_resource_id", "varchar", "Instance that the container ran on."),
    Column("split_line_item_public_on_demand_split_cost", "double", "Cost of the container at the public price."),
    Column("split_line_item_public_on_demand_unused_cost", "double", "Share in the unused rest at the public price."),
    Column("split_line_item_reserved_usage", "double", "What the container had reserved."),
    Column("split_line_item_split_cost", "double", "Cost of the container."),
    Column("split_line_item_split_usage", "double", "Usage that is counted for the container."),
    Column("split_line_item_split_usage_ratio", "varchar", "Share of the instance that is counted for the container."),
    Column("split_line_item_unused_cost", "double", "Share in what nobody used of the instance."),
]


class CostAndUsageReport(Table):
    """One row for each line of a cost and usage report, of the old kind or of CUR 2.0."""

    name = "aws_cost_and_usage_report"
    format = EXPORT
    columns = [
        *_BILL,
        labelled("cost_category", "Cost categories of the line, by name."),
        labelled("discount", "Discounts that have no column of their own, by name."),
        Column("discount_bundled_discount", "double", "Discount because another product was used with it."),
        Column("discount_total_discount", "double", "All discounts of the line."),
        *_LINE_ITEM,
        *_PRICING,
        labelled("product", "What else is known of the product, by name."),
        *_PRODUCT,
        labelled("reservation", "What else is known of the reservation, by name."),
        *_RESERVATION,
        labelled("resource_tags", "Tags of the resource, by key: `user_` is before those of your own."),
        *_SAVINGS_PLAN,
        *_SPLIT,
        Column("additional", "json", "Fields of the report that have no column of their own.", source="*"),
    ]
    common = {
        "tp_timestamp": first_time(
            "line_item_usage_start_date",
            "line_item_usage_end_date",
            "bill_billing_period_start_date",
            "bill_billing_period_end_date",
        ),
        "tp_akas": texts(
            "line_item_resource_id",
            "reservation_reservation_arn",
            "savings_plan_savings_plan_arn",
            "split_line_item_parent_resource_id",
            only=is_arn,
        ),
    }
    layouts = export_layouts()
