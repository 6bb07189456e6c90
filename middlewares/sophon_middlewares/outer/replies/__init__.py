"""Stages that check and complete a reply on its way out."""
