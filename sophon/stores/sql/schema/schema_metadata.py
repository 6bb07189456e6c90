"""What all tables share: their collection, and the type of a row number."""

from sqlalchemy import BigInteger, Integer, MetaData

# SQLite generates row numbers only for a column that is declared INTEGER.
RowNumber = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData()
