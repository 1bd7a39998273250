"""The API reference: pages made of the OpenAPI document, one for each resource."""
