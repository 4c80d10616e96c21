"""Two ways to sell an item. One of them sells the last one twice."""

from django.db import transaction
from django.http import JsonResponse

from shop.models import Item, Order


def sell(item, customer):
    if item.stock < 1:
        return JsonResponse({"sold": False}, status=409)
    item.stock -= 1
    item.save()
    Order.objects.create(item=item, customer=customer)
    return JsonResponse({"sold": True})


@transaction.atomic
def buy(request):
    item = Item.objects.get(name=request.GET["item"])
    return sell(item, request.GET["customer"])


@transaction.atomic
def buy_locked(request):
    item = Item.objects.select_for_update().get(name=request.GET["item"])
    return sell(item, request.GET["customer"])
