from django.db import models


class Item(models.Model):
    name = models.CharField(max_length=100)
    stock = models.IntegerField()


class Order(models.Model):
    item = models.ForeignKey(Item, on_delete=models.PROTECT)
    customer = models.CharField(max_length=100)
    created = models.DateTimeField(auto_now_add=True)
