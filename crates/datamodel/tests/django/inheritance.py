# Abstract classes give their fields away, a class extended is a parent, a proxy is no class of its own.
# file: core/mixins.py
from django.db import models

class Owned(models.Model):
    owner = models.ForeignKey("accounts.Person", on_delete=models.CASCADE, related_name="%(app_label)s_%(class)s_items")
    editor = models.ForeignKey("accounts.Person", on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        abstract = True
        unique_together = [("owner", "editor")]

class Plain:
    helper = models.ForeignKey("accounts.Person", on_delete=models.CASCADE)

# file: accounts/models.py
from django.contrib.auth.models import AbstractUser
class Person(AbstractUser):
    pass

class Staff(Person):
    class Meta:
        proxy = True

# file: config/settings.py
AUTH_USER_MODEL = "accounts.Person"

# file: shop/models/items.py
from django.contrib.auth import get_user_model
from core.mixins import Owned as Possession
from core.mixins import Plain
from accounts import models as people
from django.db import models

class Item(Possession, Plain):
    editor = None
    staff = models.ForeignKey(people.Staff, on_delete=models.PROTECT)
    buyer = models.ForeignKey(get_user_model(), on_delete=models.CASCADE, related_name="bought")

if True:
    class Gadget(Item):
        case = models.OneToOneField("Case", models.CASCADE, primary_key=True)

class Case(Unseen):
    lid = models.ForeignKey("self", models.CASCADE)

class Form(forms.Form):
    name = 1

# file: blog/models.py
from django.db import models
class Item(models.Model):
    shop_item = models.ForeignKey("shop.Item", models.CASCADE)
    own = models.ForeignKey("Item", models.CASCADE, related_name="owns")

# file: blog/migrations/0001.py
class Migration(migrations.Migration):
    x = models.ForeignKey("Nobody", models.CASCADE)

# file: broken/models.py
from django.db import models
class Half(models.Model):
    whole = models.ForeignKey("blog.Item", models.CASCADE)
    broken = models.ForeignKey("blog.Item",
class Other(models.Model)
    pass
