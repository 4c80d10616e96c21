from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=200)


class Book(models.Model):
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    title = models.CharField(max_length=200)
    shelves = models.ManyToManyField("Shelf", related_name="books")


class Shelf(models.Model):
    room = models.CharField(max_length=20)


class Member(models.Model):
    card = models.CharField(max_length=20, unique=True)
    guardian = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="wards")


class Loan(models.Model):
    # A book that is lent must not disappear.
    book = models.ForeignKey(Book, on_delete=models.PROTECT, related_name="loans")
    # The till closes loans at night, so nothing is to be done here.
    member = models.ForeignKey(Member, on_delete=models.DO_NOTHING, related_name="loans")


class Review(models.Model):
    # Reviews live in another database: no constraint.
    book = models.ForeignKey(
        Book,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="reviews",
    )
    member = models.ForeignKey(Member, on_delete=models.SET_NULL, null=True, related_name="reviews")
