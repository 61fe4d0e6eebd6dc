"""Cost Optimization Hub: what could be saved, as exported by Data Exports."""

from __future__ import annotations

from tailpipe.formats import Delimited
from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import texts
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["CostOptimizationRecommendation"]

_SAID = "last_refresh_timestamp::VARCHAR"  # in parquet it may be no text
_REFRESHED = f"coalesce(strftime(try_strptime({_SAID}, '%a %b %d %H:%M:%S UTC %Y'), '%Y-%m-%d %H:%M:%S'), {_SAID})"


class CostOptimizationRecommendation(Table):
    """One row for each recommendation of the Cost Optimization Hub, as often as it is exported."""

    name = "aws_cost_optimization_recommendation"
    format = Delimited(header=True)
    columns = [
        Column("last_refresh_timestamp", "timestamp", "When it was last computed, in UTC.", transform=_REFRESHED),
        Column("recommendation_id", "varchar", "Identity of the recommendation."),
        Column("account_id", "varchar", "Account of the resource."),
        Column("region", "varchar", "Region of the resource."),
        Column("action_type", "varchar", "What to do, such as `Rightsize`, `Stop` or `Delete`."),
        Column("resource_arn", "varchar", "ARN of the resource."),
        Column("current_resource_type", "varchar", "Kind of the resource, such as `Ec2Instance`."),
        Column("current_resource_summary", "varchar", "The resource in a few words."),
        Column("current_resource_details", "json", "The resource, its configuration and its cost."),
        Column("recommended_resource_type", "varchar", "Kind of the resource that is recommended."),
        Column("recommended_resource_summary", "varchar", "What is recommended, in a few words."),
        Column("recommended_resource_details", "json", "What is recommended, its configuration and its cost."),
        Column("currency_code", "varchar", "Currency of the amounts."),
        Column("estimated_monthly_savings_before_discount", "double", "Saved in a month, before discounts."),
        Column("estimated_monthly_savings_after_discount", "double", "Saved in a month, after discounts."),
        Column(
            "estimated_savings_percentage_before_discount", "double", "Saved of the cost before discounts, in percent."
        ),
        Column(
            "estimated_savings_percentage_after_discount", "double", "Saved of the cost after discounts, in percent."
        ),
        Column("estimated_monthly_cost_before_discount", "double", "Cost of a month as it is, before discounts."),
        Column("estimated_monthly_cost_after_discount", "double", "Cost of a month as it is, after discounts."),
        Column("implementation_effort", "varchar", "How much work it is, from `VeryLow` to `VeryHigh`."),
        Column("restart_needed", "boolean", "Whether the resource must be restarted."),
        Column("rollback_possible", "boolean", "Whether it can be undone."),
        Column("recommendation_lookback_period_in_days", "bigint", "Days of use that it is based on."),
        Column("recommendation_source", "varchar", "Service that it comes from, such as `ComputeOptimizer`."),
        Column("tags", "json", "Tags of the resource."),
        Column("additional", "json", "Fields of the export that have no column of their own.", source="*"),
    ]
    common = {
        "tp_timestamp": _REFRESHED,
        "tp_akas": texts("resource_arn", only=is_arn),
    }
    layouts = {
        "aws_s3_bucket": "%{DATA:export_name}/data/%{DATA:partition}/(%{DATA:execution}/)?%{DATA:filename}"
        "[.](csv.gz|parquet)",
        "file": "(%{DATA}/)?[^/]*[.](csv|csv.gz|parquet)",
    }
