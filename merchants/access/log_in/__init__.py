"""Log-ins of people: sessions, devices, and the step-up before sensitive actions."""
