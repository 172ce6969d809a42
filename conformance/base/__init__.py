"""Foundations without programs: levels, tolerances, schemas, versions."""
