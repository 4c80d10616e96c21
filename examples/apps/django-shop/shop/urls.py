from django.urls import path

from shop import views

urlpatterns = [
    path("buy", views.buy),
    path("buy-locked", views.buy_locked),
]
