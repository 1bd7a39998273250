"""Log-ins of people: sessions, devices, and asking again for what is sensitive."""
