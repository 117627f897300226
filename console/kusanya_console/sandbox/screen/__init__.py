"""The Service screen: keys, endpoints and events of the service."""
