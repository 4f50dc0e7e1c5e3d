"""Dashboard, alarms and their notifications, and the budget."""
