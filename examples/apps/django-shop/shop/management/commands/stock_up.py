from django.core.management.base import BaseCommand

from shop.models import Item


class Command(BaseCommand):
    help = "Puts one violin on the shelf."

    def handle(self, *args, **options):
        Item.objects.create(name="violin", stock=1)
