"""The tables of the plugin `aws`, one file each."""
