"""The charts of a report, drawn without a browser; one file a chart, and each can be read as text."""
