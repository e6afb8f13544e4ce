"""The shop: WebShop's pages, actions and reward over a generated catalogue or over WebShop's own files."""
