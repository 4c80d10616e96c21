# Every kind of field and of on_delete; positional and by name; nullable and not.
# file: shop/models.py
from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import CASCADE, Model
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver


class Customer(models.Model):
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="customer")
    email = models.EmailField(unique=True)
    sponsor = models.ForeignKey("self", models.SET_NULL, null=True, blank=True)
    tags = GenericRelation("Tag")


class Order(Model):
    customer = models.ForeignKey(Customer, CASCADE, related_name="orders")
    seller = models.ForeignKey("Seller", on_delete=models.PROTECT)
    shipper: "Seller" = models.ForeignKey("shop.Seller", models.RESTRICT, null=True, related_name="+", db_column="ship")
    clerk = models.ForeignKey("Seller", models.SET(1), related_name="clerked")
    log = models.ForeignKey("audit.Log", models.DO_NOTHING, db_constraint=False)
    odd = models.ForeignKey(Customer, CASCADE_IF_QUEUED, related_name="odd_orders")
    fast = models.ForeignKey(Customer, on_delete=models.DB_CASCADE, related_name="fast_orders")
    computed = models.ForeignKey(f"{x}", CASCADE)
    note = SpecialKey(Customer, on_delete=models.CASCADE, related_name="notes")
    own = OwnKey(Customer, models.CASCADE, related_name="owned")

    class Meta:
        db_table = "orders"
        unique_together = (("customer", "seller"), ["seller", "number"])
        constraints = [
            models.UniqueConstraint(fields=["clerk"], condition=models.Q(open=True), name="one_open"),
            models.CheckConstraint(check=models.Q(total__gt=0), name="positive"),
        ]

    def delete(self, *args, **kwargs):
        super().delete(*args, **kwargs)


class OwnKey(models.ForeignKey):
    pass


class Seller(models.Model):
    class Meta:
        unique_together = ("a", "b")


class Tag(models.Model):
    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.PositiveIntegerField()
    content_object = GenericForeignKey("content_type", "object_id")
    other_id = models.PositiveIntegerField(null=True)
    other = GenericForeignKey("content_type", "other_id")


class NotAModel:
    customer = 1


@receiver(post_delete, sender=Order)
def order_gone(sender, **kwargs):
    pass


pre_delete.connect(order_gone, sender=Seller)
