# Many to many: a table of pairs that Django makes up, a class in between, a class with itself.
# file: library/models.py
from django.db import models

class Author(models.Model):
    friends = models.ManyToManyField("self")
    follows = models.ManyToManyField("self", symmetrical=False, related_name="followers")

class Book(models.Model):
    authors = models.ManyToManyField(Author, related_name="books")
    readers = models.ManyToManyField("Reader", through="Loan", through_fields=("book", "reader"))
    lost = models.ManyToManyField("Reader", through="Author", related_name="+")

class Reader(models.Model):
    pass

class Loan(models.Model):
    book = models.ForeignKey(Book, on_delete=models.CASCADE)
    reader = models.ForeignKey(Reader, on_delete=models.CASCADE)
    guarantor = models.ForeignKey(Reader, on_delete=models.PROTECT, related_name="guarantees")
